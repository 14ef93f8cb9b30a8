"""Objects in stores: S3, Google, Azure and web servers."""
