"""Files of annotation tools: read into one kind of object, and written from it.

``read_…`` returns :class:`Reading` objects, :func:`combine_readings` checks that they fit together,
:func:`manytruths.import_study` writes them as a study, and ``write_…`` writes them for a tool. Names are imported when
they are first used, since each format has requirements of its own.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
