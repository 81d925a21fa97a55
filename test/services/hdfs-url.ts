import { userInfo } from 'node:os'

/** An `hdfs://` URL of a path for the superuser. The authority is `host:port` of each WebHDFS, joined by commas. */
export function hdfsUrl(authority: string, path: string): string {
  return `hdfs://${authority}${path}?user.name=${userInfo().username}`
}
