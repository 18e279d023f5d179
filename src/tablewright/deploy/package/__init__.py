"""What a stack runs: a package of functions, or an image, with what the system needs and nothing more.

needed_modules   which parts of Tablewright and which distributions a system imports
wheels           distributions for another machine, by pip
package_files    the files of a package, in order
bytecode         the same sources, compiled
function_zip     a zip for Lambda
oci_image        an image as a tarball, without Docker
building         all of it, for a system
"""
