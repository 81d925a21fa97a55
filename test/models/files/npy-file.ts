/** The bytes that `numpy.save` writes for a matrix (format 1.0). */
export function npyFile(type: '<f4' | '<f8', rows: readonly (readonly number[])[]): Uint8Array {
  const shape = `(${rows.length}, ${rows[0]?.length ?? 0})`
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': ${shape}, }`
  const header = Buffer.alloc(128, ' ')
  header.write('\x93NUMPY\x01\x00', 0, 'latin1')
  header.writeUInt16LE(118, 8)
  header.write(text, 10, 'latin1')
  header.write('\n', 127)
  const values = rows.flat()
  const data = type === '<f4' ? Float32Array.from(values) : Float64Array.from(values)
  return Buffer.concat([header, Buffer.from(data.buffer)])
}
