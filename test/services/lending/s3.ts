import { lease } from './lease.ts'

/** What a file must know of a shared server of S3. */
export interface SharedS3Access {
  readonly port: number
}

/** A server of S3 without buckets, which other test files use before and after this one. */
export interface SharedS3 extends SharedS3Access, AsyncDisposable {
  /** Makes a bucket. */
  bucket(name: string): Promise<void>
  /** An `s3://` URL of a place, `bucket/prefix`. @param port of a proxy in front of the server */
  storageUrl(place: string, port?: number): string
}

/** Borrows a server of S3 for a test file. Its buckets are deleted when the test file gives it back. */
export async function sharedS3(): Promise<SharedS3> {
  const { access, giveBack } = await lease<SharedS3Access>('s3')
  return {
    ...access,
    async bucket(name) {
      const answer = await fetch(`http://127.0.0.1:${access.port}/${name}`, { method: 'PUT' })
      if (!answer.ok) throw new Error(`the bucket was not made: ${await answer.text()}`)
    },
    storageUrl: (place, port = access.port) => `s3://${place}?endpoint=http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => giveBack(),
  }
}
