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
  /** Variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>
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

/** Where a bucket's server is: an endpoint of its own, or AWS. */
export function endpointOf(
  address: S3Address,
  environment: S3ClientSettings['environment'],
): string | undefined {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = environment
  return address.endpoint ?? (AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL || undefined)
}

/**
 * A client of the library without retries of its own: `S3Attempts` repeats, and says what it waits for. Checksums of the
 * library are sent only where a request needs them, because older servers refuse them and the formats of checkpoints
 * have their own.
 */
export function openS3Client(
  sdk: S3Sdk,
  address: S3Address,
  { timeoutMs, credentials, environment }: S3ClientSettings,
): S3Client {
  const endpoint = endpointOf(address, environment)
  const { AWS_REGION, AWS_DEFAULT_REGION } = environment
  const named = address.region ?? (AWS_REGION || AWS_DEFAULT_REGION || undefined)
  // A server that is not AWS takes any region in most cases, and it must be in the signature.
  const region = named ?? (endpoint === undefined ? undefined : 'us-east-1')
  return new sdk.S3Client({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: timeoutMs, socketTimeout: timeoutMs },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    forcePathStyle: address.pathStyle ?? endpoint !== undefined,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
  })
}
