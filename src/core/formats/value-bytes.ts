/** About how many bytes of heap an object, a field of it and a text take. */
export const OBJECT_BYTES = 56
export const FIELD_BYTES = 8
export const STRING_BYTES = 24

/** In place of a number of bytes: the value is not plain data. */
export const NOT_PLAIN = -1
/** In place of a number of bytes: the value has a field that is no primitive, or is not known. */
export const NOT_FLAT = -2
