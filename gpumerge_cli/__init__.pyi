from gpumerge_cli.arrays.asof import asof_join as asof_join
from gpumerge_cli.arrays.column_array import ColumnArray as ColumnArray
from gpumerge_cli.arrays.diffs import ArrayDiff as ArrayDiff
from gpumerge_cli.arrays.diffs import diff as diff
from gpumerge_cli.arrays.joining import join as join
from gpumerge_cli.arrays.merging import merge as merge
from gpumerge_cli.arrays.ranking import rank as rank
from gpumerge_cli.arrays.ranking import rank_of as rank_of
from gpumerge_cli.arrays.selecting import argtopk as argtopk
from gpumerge_cli.arrays.selecting import topk as topk
from gpumerge_cli.arrays.sets import difference as difference
from gpumerge_cli.arrays.sets import intersect as intersect
from gpumerge_cli.arrays.sets import symmetric as symmetric
from gpumerge_cli.arrays.sets import union as union
from gpumerge_cli.arrays.sorting import argsort as argsort
from gpumerge_cli.arrays.sorting import is_sorted as is_sorted
from gpumerge_cli.arrays.sorting import sort as sort
from gpumerge_cli.arrays.table_calls import merge_tables as merge_tables
from gpumerge_cli.arrays.table_calls import sort_table as sort_table
from gpumerge_cli.arrays.text_key import TextKey as TextKey
from gpumerge_cli.arrays.uniques import unique as unique
from gpumerge_cli.cli.file_calls import check_files as check_files
from gpumerge_cli.cli.file_calls import merge_files as merge_files
from gpumerge_cli.cli.file_calls import sort_files as sort_files
from gpumerge_cli.engine.job import Destination as Destination
from gpumerge_cli.engine.job import Job as Job
from gpumerge_cli.engine.job import Operation as Operation
from gpumerge_cli.engine.job import Resources as Resources
from gpumerge_cli.engine.run import run as run
from gpumerge_cli.errors import ClusterError as ClusterError
from gpumerge_cli.errors import DeviceError as DeviceError
from gpumerge_cli.errors import DeviceMemoryError as DeviceMemoryError
from gpumerge_cli.errors import DisorderError as DisorderError
from gpumerge_cli.errors import GpumergeError as GpumergeError
from gpumerge_cli.errors import InputError as InputError
from gpumerge_cli.errors import OutputError as OutputError
from gpumerge_cli.errors import UsageError as UsageError
from gpumerge_cli.formats.items import Items as Items
from gpumerge_cli.results.run import CheckReport as CheckReport
from gpumerge_cli.results.run import MergeReport as MergeReport

BEGUN: float
__version__: str
__all__: list[str]
