const LONGEST_TEXT = 60
const MOST_BYTES = 30

/** A key for messages: as it is written in a program where it is plain, otherwise its bytes as hex. */
export function describeKey(key: unknown, bytes: Uint8Array): string {
  return shortened(plainText(key) ?? `0x${hexOf(bytes)}`)
}

/** Undefined for a key, or a part of it, that is neither a string, number, boolean, bigint nor a tuple of these. */
function plainText(key: unknown): string | undefined {
  if (typeof key === 'string') return JSON.stringify(key)
  if (typeof key === 'bigint') return `${key}n`
  if (typeof key === 'number' || typeof key === 'boolean') return String(key)
  if (!Array.isArray(key)) return undefined
  const parts = key.map(plainText)
  return parts.includes(undefined) ? undefined : `[${parts.join(', ')}]`
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, MOST_BYTES + 1)).toString('hex')
}

function shortened(text: string): string {
  return text.length > LONGEST_TEXT + 2 ? `${text.slice(0, LONGEST_TEXT)}...` : text
}
