const LENGTH_BYTES = 4

/** The strings of a BYTES tensor: each a length and UTF-8 bytes. */
export function stringsOfBytes(data: Uint8Array): string[] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const strings: string[] = []
  for (let at = 0; at + LENGTH_BYTES <= bytes.length; ) {
    const end = at + LENGTH_BYTES + bytes.readUInt32LE(at)
    strings.push(bytes.toString('utf8', at + LENGTH_BYTES, end))
    at = end
  }
  return strings
}

/** The data of a BYTES tensor. */
export function stringsToBytes(strings: readonly string[]): Uint8Array {
  const parts = strings.map((text) => Buffer.from(text, 'utf8'))
  const bytes = Buffer.alloc(parts.reduce((sum, part) => sum + LENGTH_BYTES + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.writeUInt32LE(part.length, at)
    part.copy(bytes, at + LENGTH_BYTES)
    at += LENGTH_BYTES + part.length
  }
  return bytes
}
