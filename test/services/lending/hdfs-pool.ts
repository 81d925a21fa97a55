import { parseWebHdfsUrl } from '../../../src/files/webhdfs/address.ts'
import { WebHdfsClient } from '../../../src/files/webhdfs/client.ts'
import { HdfsCluster } from '../hdfs-cluster.ts'
import type { Pooled } from './pool.ts'

/** An HDFS of one NameNode and one DataNode. */
export async function pooledHdfs(): Promise<Pooled> {
  const cluster = await HdfsCluster.start({ keepsClasses: true })
  return {
    access: { authority: cluster.authority, rpcPort: cluster.rpcPort() },
    clear: () => deleteAll(cluster.url('/')),
    stop: () => cluster.stop(),
  }
}

async function deleteAll(url: string): Promise<void> {
  const client = new WebHdfsClient(parseWebHdfsUrl(url))
  try {
    for (const { name } of (await client.list('/')) ?? []) await client.delete(`/${name}`)
  } finally {
    client.close()
  }
}
