import type { S3Client } from '@aws-sdk/client-s3'
import { messageOf, WeirError } from '../../core/errors.ts'
import type { S3Address } from './address.ts'

/** The library of AWS. */
export type S3Sdk = typeof import('@aws-sdk/client-s3')

/** Credentials that are given, in place of those that the library finds. */
export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Settings of the library's client beside the address. */
export interface S3ClientSettings {
  /** Longest silence of the server, ms. */
  readonly timeoutMs: number
  readonly credentials: S3Credentials | undefined
}

/** Loads the library. Throws UNSUPPORTED with the command that installs it. */
export async function loadS3Sdk(): Promise<S3Sdk> {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (cause) {
    const message = `checkpoints in S3 need the package @aws-sdk/client-s3: run \`npm install @aws-sdk/client-s3\` (${messageOf(cause)})`
    throw new WeirError('UNSUPPORTED', message, { cause })
  }
}

/**
 * A client of the library without retries of its own: `S3Attempts` repeats, and says what it waits for. Checksums of the
 * library are sent only where a request needs them, because older servers refuse them and the formats of checkpoints
 * have their own. Credentials, and what the URL leaves out, come from the environment and the shared files of AWS.
 */
export async function openS3Client(
  sdk: S3Sdk,
  address: S3Address,
  settings: S3ClientSettings,
): Promise<S3Client> {
  const client = clientOf(sdk, address, settings)
  if (address.endpoint === undefined || address.region !== undefined) return client
  try {
    await client.config.region()
    return client
  } catch {
    // A server that is not AWS takes any region in most cases, and one must be in the signature.
    client.destroy()
    return clientOf(sdk, { ...address, region: 'us-east-1' }, settings)
  }
}

function clientOf(
  sdk: S3Sdk,
  { endpoint, region, pathStyle }: S3Address,
  { timeoutMs, credentials }: S3ClientSettings,
): S3Client {
  return new sdk.S3Client({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: timeoutMs, socketTimeout: timeoutMs },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    forcePathStyle: pathStyle ?? endpoint !== undefined,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
  })
}
