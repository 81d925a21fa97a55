/** A checksum that a place states. `git-sha1`: of the bytes behind git's header `blob LENGTH\0`. */
export interface StatedChecksum {
  readonly algorithm: 'sha256' | 'md5' | 'git-sha1'
  /** In hexadecimal. */
  readonly hex: string
}

/** A file of a place. */
export interface PlaceFile {
  /** Path from the folder that was asked for, with "/". */
  readonly path: string
  readonly bytes: number
  /** Text that changes when the content does: parts that were read before belong to it. */
  readonly identity: string
  /** What the list states of the bytes. */
  readonly checksum?: StatedChecksum
}

/** What a place has, at one moment. */
export interface PlaceListing {
  /** What the place was pinned to, such as a commit; undefined where it has no versions. */
  readonly revision: string | undefined
  readonly files: readonly PlaceFile[]
}

/** The bytes of a file. */
export interface PlaceContent {
  /** Position of the first byte: the one that was asked for, or 0 where the place cannot continue. */
  readonly from: number
  /** Undefined where the place states none for this file. */
  readonly checksum: StatedChecksum | undefined
  /** Rejects with CONNECTOR_FAILED where the place ends in the middle. */
  readonly bytes: AsyncIterable<Uint8Array>
}

/**
 * The port to a place that models come from. Only commands of a user open one: no request names a place. Methods
 * reject with CONNECTOR_FAILED when another attempt may succeed, and otherwise with FILE_NOT_FOUND, UNAUTHENTICATED,
 * ACCESS_DENIED, UNSUPPORTED or MALFORMED_DATA; no message has text of a server.
 */
export interface ModelPlace {
  list(): Promise<PlaceListing>
  /** The content of a listed file from a position on. */
  open(file: PlaceFile, from: number): Promise<PlaceContent>
}

/** Variables of the environment: addresses and credentials of places. */
export type PlaceEnvironment = Readonly<Record<string, string | undefined>>
