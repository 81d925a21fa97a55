import { WeirError } from '../../core/errors.ts'

const LENGTH_BYTES = 4
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The elements of a BYTES tensor: views of its bytes. */
export function elementsOfBytes(data: Uint8Array): Uint8Array[] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const elements: Uint8Array[] = []
  for (let at = 0; at + LENGTH_BYTES <= bytes.length; ) {
    const end = at + LENGTH_BYTES + bytes.readUInt32LE(at)
    elements.push(bytes.subarray(at + LENGTH_BYTES, end))
    at = end
  }
  return elements
}

/**
 * The strings of a BYTES tensor: each a length and UTF-8 bytes. Throws SIGNATURE_MISMATCH for strings that ONNX Runtime would
 * alter: its binding takes UTF-8, and ends a string at the first NUL.
 */
export function stringsOfBytes(data: Uint8Array, name: string): string[] {
  return elementsOfBytes(data).map((element) => stringOf(element, name))
}

function stringOf(bytes: Uint8Array, name: string): string {
  const refused = (what: string): WeirError =>
    new WeirError(
      'SIGNATURE_MISMATCH',
      `the input "${name}" has a string ${what}, which ONNX Runtime cannot take; send it in another form, such as Base64`,
    )
  if (bytes.includes(0)) throw refused('with a NUL')
  try {
    return strict.decode(bytes)
  } catch {
    throw refused('that is no UTF-8')
  }
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
