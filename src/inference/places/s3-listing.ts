import { WeirError } from '../../core/errors.ts'

/** One object of a listing. */
export interface S3Entry {
  readonly key: string
  readonly bytes: number
  /** With its quotation marks. */
  readonly etag: string
}

/** A page of a listing; `next` is the token of the next one. */
export interface S3Page {
  readonly entries: readonly S3Entry[]
  readonly next: string | undefined
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Reads an answer of ListObjectsV2, an XML text without attributes of interest. Throws MALFORMED_DATA. */
export function readS3Listing(xml: string): S3Page {
  if (!/<ListBucketResult[\s>]/.test(xml)) throw malformed()
  const isEncoded = textIn(xml, 'EncodingType') === 'url'
  const entries = [...xml.matchAll(/<Contents>([\s\S]*?)<\/Contents>/g)].map(
    ([, entry]): S3Entry => {
      const key = textIn(entry!, 'Key')
      const bytes = Number(textIn(entry!, 'Size'))
      const etag = textIn(entry!, 'ETag')
      if (key === undefined || etag === undefined || !Number.isSafeInteger(bytes)) throw malformed()
      return { key: isEncoded ? decoded(key) : key, bytes, etag }
    },
  )
  const isCut = textIn(xml, 'IsTruncated') === 'true'
  return { entries, next: isCut ? textIn(xml, 'NextContinuationToken') : undefined }
}

function textIn(xml: string, tag: string): string | undefined {
  const [, text] = new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml) ?? []
  return text?.replaceAll(
    /&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(\w+));/g,
    (whole, hex, decimal, name) => {
      if (name !== undefined) return NAMED[name] ?? whole
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    },
  )
}

/** Servers write a blank as "+" or "%20". */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', '%20'))
  } catch (cause) {
    throw malformed(cause)
  }
}

function malformed(cause?: unknown): WeirError {
  const message =
    'the S3 endpoint sent an answer that is no list of a bucket; check AWS_ENDPOINT_URL'
  return new WeirError('MALFORMED_DATA', message, cause === undefined ? {} : { cause })
}
