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

const [BEGIN, END] = ['<Contents>', '</Contents>']

/**
 * Reads an answer of ListObjectsV2, an XML text without attributes of interest; `origin` is who sent it. Throws
 * MALFORMED_DATA.
 */
export function readS3Listing(xml: string, origin: string): S3Page {
  if (!/<ListBucketResult[\s>]/.test(xml)) throw malformed(origin)
  const isEncoded = textIn(xml, 'EncodingType') === 'url'
  const entries: S3Entry[] = []
  for (let from = xml.indexOf(BEGIN); from >= 0; ) {
    const end = xml.indexOf(END, from)
    const entry = end < 0 ? undefined : entryOf(xml.slice(from, end), isEncoded)
    if (entry === undefined) throw malformed(origin)
    entries.push(entry)
    from = xml.indexOf(BEGIN, end)
  }
  const isCut = textIn(xml, 'IsTruncated') === 'true'
  return { entries, next: isCut ? textIn(xml, 'NextContinuationToken') : undefined }
}

/** The object of an entry; undefined for one that is none. */
function entryOf(xml: string, isEncoded: boolean): S3Entry | undefined {
  const text = textIn(xml, 'Key')
  const bytes = Number(textIn(xml, 'Size'))
  const etag = textIn(xml, 'ETag')
  const key = isEncoded ? decoded(text) : text
  if (key === undefined || etag === undefined || !Number.isSafeInteger(bytes)) return undefined
  return { key, bytes, etag }
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

/** Servers write a blank as "+" or "%20". Undefined for what is not encoded so. */
function decoded(key: string | undefined): string | undefined {
  try {
    return key && decodeURIComponent(key.replaceAll('+', '%20'))
  } catch {
    return undefined
  }
}

function malformed(origin: string): WeirError {
  const message = `S3 (${origin}) sent an answer that is no list of a bucket; check AWS_ENDPOINT_URL`
  return new WeirError('MALFORMED_DATA', message)
}
