import { crc32, inflateRawSync } from 'node:zlib'

/*
 * A reader of single files in a zip archive (PKWARE APPNOTE 6.3): end record, central directory, then the
 * entry's local header and its data, stored or deflated. It refuses archives above 4 GiB, encryption and other
 * compressions.
 */

const END_SIGNATURE = 0x06054b50
const CENTRAL_SIGNATURE = 0x02014b50
const LOCAL_SIGNATURE = 0x04034b50
const END_BYTES = 22
const CENTRAL_BYTES = 46
const LOCAL_BYTES = 30
const STORED = 0
const DEFLATED = 8

interface Entry {
  readonly method: number
  readonly crc: number
  readonly compressedBytes: number
  readonly bytes: number
  readonly offset: number
}

/** The contents of the files with these names. Throws if one is missing or its checksum is wrong. */
export function readZip(archive: Buffer, names: readonly string[]): Map<string, Buffer> {
  const entries = centralDirectory(archive)
  const contents = new Map<string, Buffer>()
  for (const name of names) {
    const entry = entries.get(name)
    if (entry === undefined) throw new Error(`the archive has no file ${name}`)
    contents.set(name, contentOf(archive, name, entry))
  }
  return contents
}

function centralDirectory(archive: Buffer): Map<string, Entry> {
  const end = endRecord(archive)
  const entries = new Map<string, Entry>()
  let at = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    if (archive.readUInt32LE(at) !== CENTRAL_SIGNATURE) {
      throw new Error('the central directory of the archive is damaged')
    }
    const nameBytes = archive.readUInt16LE(at + 28)
    const name = archive.toString('utf8', at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameBytes)
    entries.set(name, {
      method: archive.readUInt16LE(at + 10),
      crc: archive.readUInt32LE(at + 16),
      compressedBytes: archive.readUInt32LE(at + 20),
      bytes: archive.readUInt32LE(at + 24),
      offset: archive.readUInt32LE(at + 42),
    })
    at += CENTRAL_BYTES + nameBytes + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  return entries
}

/** Offset of the end record, which only a comment of at most 65,535 bytes can follow. */
function endRecord(archive: Buffer): number {
  const lowest = Math.max(0, archive.length - END_BYTES - 0xffff)
  for (let at = archive.length - END_BYTES; at >= lowest; at--) {
    if (archive.readUInt32LE(at) === END_SIGNATURE) return at
  }
  throw new Error('this is not a zip archive: it has no end record')
}

function contentOf(archive: Buffer, name: string, entry: Entry): Buffer {
  if (archive.readUInt32LE(entry.offset) !== LOCAL_SIGNATURE) {
    throw new Error(`the local header of ${name} is damaged`)
  }
  const nameBytes = archive.readUInt16LE(entry.offset + 26)
  const extraBytes = archive.readUInt16LE(entry.offset + 28)
  const start = entry.offset + LOCAL_BYTES + nameBytes + extraBytes
  const data = archive.subarray(start, start + entry.compressedBytes)
  if (entry.method !== STORED && entry.method !== DEFLATED) {
    throw new Error(`${name} is compressed by method ${entry.method}, which is not supported`)
  }
  const content = entry.method === STORED ? data : inflateRawSync(data)
  if (content.length !== entry.bytes || crc32(content) !== entry.crc) {
    throw new Error(`${name} does not match its checksum in the archive`)
  }
  return content
}
