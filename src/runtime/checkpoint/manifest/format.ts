import { crc32 } from 'node:zlib'
import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { WeirError } from '../../../core/errors.ts'
import type {
  CheckpointManifest,
  OperatorManifest,
  OperatorStateEntries,
  SegmentReference,
} from '../protocol/checkpoint-types.ts'

/*
 * `_metadata`: everything that a restore needs. Little-endian; text and bytes are preceded by their length
 * as varuint; "n *" is a varuint count and then that many.
 *
 *   0  magic "WMAN" u32 |  4  version u16 |  6  zero u16 |  8  body bytes u32 | 12  body crc u32 | 16 body
 *
 *   body       kind u8 (0 checkpoint, 1 savepoint) | job id text | job name text | attempt i53 |
 *              generation i53 | checkpoint id i53 | triggered ms i53 | completed ms i53 | n * operator
 *   operator   uid text | parallelism u16 | max parallelism u16 | n * declaration | n * segment |
 *              n * subtask
 *   declaration  name text | kind text | format text
 *   segment    path text | bytes i53 | checksum u32 | entries i53 | first group u16 |
 *              last group u16 | checkpoint id i53 | sequence u32 | full u8
 *   subtask    n * state: name text | redistribution u8 (0 split, 1 union, 2 broadcast, 3 channels) | n * bytes
 *
 * Version 2 is version 1 with records in channels (redistribution 3), which an older build would lose; a manifest
 * without them is written as version 1.
 */

/** Version of a manifest without records in channels, and of one with them. */
const MANIFEST_VERSIONS = { plain: 1, channels: 2 } as const
/** Bytes before the body. */
const MANIFEST_HEADER_BYTES = 16
/** "WMAN" as a little-endian number. */
const MAGIC = 0x4e414d57
const KINDS = ['checkpoint', 'savepoint'] as const
const REDISTRIBUTIONS = ['split', 'union', 'broadcast', 'channels'] as const

/** Encodes a manifest as the bytes of `_metadata`; the same manifest gives the same bytes. */
export function encodeManifest(manifest: CheckpointManifest): Uint8Array {
  const body = new ByteWriter()
  body.uint8(KINDS.indexOf(manifest.kind))
  body.text(manifest.jobId)
  body.text(manifest.jobName)
  body.int53(manifest.attempt)
  body.int53(manifest.generation)
  body.int53(manifest.checkpointId)
  body.int53(manifest.triggeredAtMs)
  body.int53(manifest.completedAtMs)
  writeAll(body, manifest.operators, writeOperator)
  const bytes = body.toBytes()
  const framed = new ByteWriter(MANIFEST_HEADER_BYTES + bytes.length)
  framed.uint32(MAGIC)
  framed.uint16(holdsChannels(manifest) ? MANIFEST_VERSIONS.channels : MANIFEST_VERSIONS.plain)
  framed.uint16(0)
  framed.uint32(bytes.length)
  framed.uint32(crc32(bytes))
  framed.raw(bytes)
  return framed.toBytes()
}

function holdsChannels({ operators }: CheckpointManifest): boolean {
  const states = operators.flatMap(({ operatorState }) => operatorState.flat())
  return states.some(({ redistribution }) => redistribution === 'channels')
}

/** Decodes the bytes of `_metadata`. Throws MALFORMED_DATA, CHECKSUM_MISMATCH or UNSUPPORTED_VERSION. */
export function decodeManifest(bytes: Uint8Array): CheckpointManifest {
  const body = new ByteReader(checkFrame(bytes))
  const kind = oneOf(KINDS, body.uint8())
  const manifest = {
    jobId: body.text(),
    jobName: body.text(),
    attempt: body.int53(),
    generation: body.int53(),
    checkpointId: body.int53(),
    kind,
    triggeredAtMs: body.int53(),
    completedAtMs: body.int53(),
    operators: readAll(body, readOperator),
  }
  if (body.remaining > 0) throw malformed(`${body.remaining} bytes follow the last operator`)
  return manifest
}

function checkFrame(bytes: Uint8Array): Uint8Array {
  const header = new ByteReader(bytes)
  if (header.uint32() !== MAGIC) throw malformed('the file is no checkpoint manifest')
  const version = header.uint16()
  if (version !== MANIFEST_VERSIONS.plain && version !== MANIFEST_VERSIONS.channels) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `manifest version ${version} is not known; this build reads ${MANIFEST_VERSIONS.plain} and ${MANIFEST_VERSIONS.channels}, use the build that wrote it`,
    )
  }
  header.uint16()
  const length = header.uint32()
  const checksum = header.uint32()
  if (length !== header.remaining) {
    throw new WeirError(
      'MALFORMED_DATA',
      `the manifest has ${bytes.length} bytes and its header says ${MANIFEST_HEADER_BYTES + length}; it is cut off, or its header is damaged`,
      { details: { offset: bytes.length } },
    )
  }
  const body = header.raw(length)
  if (crc32(body) !== checksum) {
    throw new WeirError(
      'CHECKSUM_MISMATCH',
      `the bytes from ${MANIFEST_HEADER_BYTES} on differ from their checksum`,
      { details: { offset: MANIFEST_HEADER_BYTES } },
    )
  }
  return body
}

function writeOperator(out: ByteWriter, operator: OperatorManifest): void {
  out.text(operator.uid)
  out.uint16(operator.parallelism)
  out.uint16(operator.maxParallelism)
  writeAll(out, operator.declarations, (to, declaration) => {
    to.text(declaration.name)
    to.text(declaration.kind)
    to.text(declaration.format)
  })
  writeAll(out, operator.segments, writeSegment)
  writeAll(out, operator.operatorState, (to, states) => writeAll(to, states, writeEntries))
}

function readOperator(from: ByteReader): OperatorManifest {
  return {
    uid: from.text(),
    parallelism: from.uint16(),
    maxParallelism: from.uint16(),
    declarations: readAll(from, () => ({
      name: from.text(),
      kind: from.text(),
      format: from.text(),
    })),
    segments: readAll(from, readSegmentReference),
    operatorState: readAll(from, () => readAll(from, readEntries)),
  }
}

function writeSegment(out: ByteWriter, segment: SegmentReference): void {
  out.text(segment.path)
  out.int53(segment.bytes)
  out.uint32(segment.checksum)
  out.int53(segment.entries)
  out.uint16(segment.keyGroups.first)
  out.uint16(segment.keyGroups.last)
  out.int53(segment.checkpointId)
  out.uint32(segment.sequence)
  out.uint8(segment.full ? 1 : 0)
}

function readSegmentReference(from: ByteReader): SegmentReference {
  return {
    path: from.text(),
    bytes: from.int53(),
    checksum: from.uint32(),
    entries: from.int53(),
    keyGroups: { first: from.uint16(), last: from.uint16() },
    checkpointId: from.int53(),
    sequence: from.uint32(),
    full: from.uint8() === 1,
  }
}

function writeEntries(out: ByteWriter, state: OperatorStateEntries): void {
  out.text(state.name)
  out.uint8(REDISTRIBUTIONS.indexOf(state.redistribution))
  writeAll(out, state.entries, (to, entry) => to.sized(entry))
}

function readEntries(from: ByteReader): OperatorStateEntries {
  return {
    name: from.text(),
    redistribution: oneOf(REDISTRIBUTIONS, from.uint8()),
    entries: readAll(from, () => from.sized().slice()),
  }
}

function writeAll<T>(
  out: ByteWriter,
  items: readonly T[],
  write: (out: ByteWriter, item: T) => void,
): void {
  out.varuint(items.length)
  for (const item of items) write(out, item)
}

/** Every item has at least one byte: a damaged count is detected before memory is allocated. */
function readAll<T>(from: ByteReader, read: (from: ByteReader) => T): T[] {
  const count = from.varuint()
  if (count > from.remaining) throw malformed(`a count of ${count} exceeds the bytes`)
  return Array.from({ length: count }, () => read(from))
}

function oneOf<T>(values: readonly T[], index: number): T {
  const value = values[index]
  if (value === undefined) throw malformed(`${index} is not one of ${values.join(', ')}`)
  return value
}

function malformed(sentence: string): WeirError {
  return new WeirError('MALFORMED_DATA', sentence)
}
