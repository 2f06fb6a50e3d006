"""Parameters of `jann97` for the Cornell Theory Center, 26 June to 12 September 1996."""

from workloadkit.models.hyper_erlang import HyperErlang
from workloadkit.models.size_classes import SizeClass

# Jobs of the archive's log CTC-SP2-1996-3.1-cln that were submitted before 13 September 1996,
# local time, on at most 322 processors, fitted by `fit_jann97` and rounded to six digits.
CTC = (
    SizeClass(
        1,
        1,
        1.0,
        HyperErlang((0.930848, 0.069152), (1, 1), (0.00230681, 0.000148377)),
        HyperErlang((0.611468, 0.388532), (4, 4), (0.00680433, 0.000118626)),
    ),
    SizeClass(
        2,
        2,
        1.0,
        HyperErlang((0.904294, 0.095706), (1, 1), (0.000872436, 3.62155e-05)),
        HyperErlang((0.691336, 0.308664), (8, 8), (0.0403386, 0.000175829)),
    ),
    SizeClass(
        3,
        4,
        0.8415,
        HyperErlang((0.870927, 0.129073), (1, 1), (0.00133433, 6.22969e-05)),
        HyperErlang((0.792791, 0.207209), (5, 5), (0.0321167, 0.000142801)),
    ),
    SizeClass(
        5,
        8,
        0.6096,
        HyperErlang((0.784801, 0.215199), (1, 1), (0.00162401, 7.18188e-05)),
        HyperErlang((0.776658, 0.223342), (2, 2), (0.00304159, 9.59363e-05)),
    ),
    SizeClass(
        9,
        16,
        0.6308,
        HyperErlang((0.89359, 0.10641), (1, 1), (0.000715521, 6.71686e-05)),
        HyperErlang((0.683412, 0.316588), (3, 3), (0.0217888, 0.000112725)),
    ),
    SizeClass(
        17,
        32,
        0.5619,
        HyperErlang((0.875129, 0.124871), (1, 1), (0.000378671, 3.3801e-05)),
        HyperErlang((0.682041, 0.317959), (3, 3), (0.0197915, 0.000104566)),
    ),
    SizeClass(
        33,
        64,
        0.5979,
        HyperErlang((0.558403, 0.441597), (1, 1), (0.00151885, 5.5519e-05)),
        HyperErlang((0.582913, 0.417087), (3, 3), (0.00886236, 0.000101243)),
    ),
    SizeClass(
        65,
        128,
        0.635,
        HyperErlang((0.497028, 0.502972), (2, 2), (0.000463558, 3.34503e-05)),
        HyperErlang((0.677181, 0.322819), (5, 5), (0.120401, 0.000121436)),
    ),
    SizeClass(
        129,
        256,
        0.202,
        HyperErlang((0.830864, 0.169136), (2, 2), (0.000278655, 5.78521e-06)),
        HyperErlang((0.650082, 0.349918), (1, 1), (0.00763869, 0.000293075)),
    ),
    SizeClass(
        257,
        322,
        0.02,
        HyperErlang((0.852079, 0.147921), (1, 1), (1.76374e-05, 1.6706e-06)),
        HyperErlang((0.793885, 0.206115), (6, 6), (0.0315677, 0.000143892)),
    ),
)
