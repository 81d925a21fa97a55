import { hdfsUrl } from '../hdfs-url.ts'
import { lease } from './lease.ts'

/** What a file must know of a shared HDFS. */
export interface SharedHdfsAccess {
  /** `host:port` of WebHDFS. */
  readonly authority: string
  /** Port of the NameNode's RPC, which is not WebHDFS. */
  readonly rpcPort: number
}

/** An HDFS without files that other test files use before and after this one. */
export interface SharedHdfs extends SharedHdfsAccess, AsyncDisposable {
  /** An `hdfs://` URL of a path, for the superuser. */
  url(path: string): string
}

/** Borrows an HDFS for a test file. Its files are deleted when the test file gives it back. */
export async function sharedHdfs(): Promise<SharedHdfs> {
  const { access, giveBack } = await lease<SharedHdfsAccess>('hdfs')
  return {
    ...access,
    url: (path) => hdfsUrl(access.authority, path),
    [Symbol.asyncDispose]: async () => giveBack(),
  }
}
