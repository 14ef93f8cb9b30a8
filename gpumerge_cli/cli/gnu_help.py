"""What gpumerge sort --help says."""

HELP = """\
Usage: gpumerge sort [OPTION]... [FILE]...
       gpumerge sort [OPTION]... --files0-from=F

Sort lines, merge sorted files of lines (-m), or check one (-c), as GNU sort
does in the C locale: the same options, the same bytes. Without FILE, or where
FILE is -, standard input is read. Long options may be shortened.

Order of lines, by their bytes unless said otherwise:
  -b, --ignore-leading-blanks
                              blanks ahead of a key do not count
  -d, --dictionary-order      only blanks, letters and digits count
  -f, --ignore-case           lower case counts as upper case
  -g, --general-numeric-sort  by leading numbers, as 1e3, inf or 0x1p4
  -h, --human-numeric-sort    by leading sizes, as 2K or 1G
  -i, --ignore-nonprinting    only printable characters count
  -M, --month-sort            by leading months: unknown < JAN < ... < DEC
  -n, --numeric-sort          by leading numbers of any length
  -R, --random-sort           by a hash of keys
      --random-source=FILE    take what the hash begins with from FILE
  -r, --reverse               the other way round
  -V, --version-sort          by the versions in lines: 1.9 < 1.10
      --sort=WORD             general-numeric, human-numeric, month, numeric,
                              random or version: as -g -h -M -n -R -V

Keys:
  -k, --key=KEY               F[.C][OPTIONS][,F[.C][OPTIONS]]: from character C
                              of field F to that of another, or to the line's
                              end, counted from 1; OPTIONS are letters from
                              bdfghiMnRrV, in place of the global ones; a
                              character 0 of the last field is its end; may be
                              given again, for ties
  -t, --field-separator=BYTE  what lies between fields, \\0 for NUL; by default
                              the empty place ahead of blanks
  -s, --stable                lines whose keys are equal keep their order;
                              otherwise all their bytes decide
  -u, --unique                of equal lines only the first goes out; with -c,
                              equal lines are in disorder
  -z, --zero-terminated       lines end with NUL, not with newline

What is done:
  -c, --check[=diagnose-first]
                              say where the first disorder is, and exit 1
  -C, --check=quiet|silent    as -c, without a word
  -m, --merge                 the files are sorted already: merge them
  -o, --output=FILE           write to FILE, which may be an input, not to
                              standard output
      --debug                 underline in each line what its keys compare, and
                              note on standard error what may be meant otherwise
      --files0-from=F         take the names of the files from F, each ended by
                              NUL; - is standard input

With what:
  -S, --buffer-size=SIZE      memory: a number of KiB, or with b, K, M, G, T, P,
                              E, or % of the machine's
  -T, --temporary-directory=DIR
                              where temporary files go; by default $TMPDIR or
                              /tmp; may be given again
      --batch-size=N          inputs that one merge reads at once, 2 or more
      --compress-program=PROG
                              compresses temporary files; PROG -d decompresses
                              them
      --parallel=N            host threads

Beyond GNU sort:
      --backend=WORD          auto, gpu or cpu: where to work
      --device=N              which GPU, counted from 0
      --kernel=NAME           which kernel merges
      --algorithm=NAME        how lines are sorted
      --compare               every algorithm beside the library's sorts, in
                              memory, each checked, then timed; then files
      --repeat=N              timings of each with --compare; 5 by default
      --compressed            files named .gz or .zst are compressed
      --format=WORD           raw, npy or text: what the files hold; by default
                              their suffixes say, and else it is text
      --dtype=NAME            items are numbers, in NumPy's names
      --record-size=BYTES     items are records of so many bytes
      --key-offset=BYTES      where in a record its key starts
      --key-size=BYTES        bytes of the key
      --key-field=NAME        items are records, with a key of that name
      --fan-in=N              runs that a pass over the GPU's memory merges
      --header=N              the first N lines of the first file stay ahead;
                              those of the others are left out
      --csv                   fields are those of CSV, quoted or not; -k takes
                              names of the header, too: -k amount:nr
      --report=FILE           write a report of what took how long to FILE:
                              .json, .md or .html
      --progress              show on a terminal how far it is
      --traceback             on an error, show the traceback too

      --help                  print this and exit
      --version               print the version and exit

Exit codes: 0 done; 1 disorder found (-c, -C), or a WORD that is none; 2
anything else wrong; 130, 143 stopped by a signal; 141 the reader of standard
output went away.
"""
