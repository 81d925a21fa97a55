import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseWebHdfsUrl } from '../../../src/files/webhdfs/address.ts'
import { WebHdfsClient } from '../../../src/files/webhdfs/client.ts'
import { StoredFold } from '../../recovery/fold/stored-fold.ts'
import { HdfsCluster } from '../../services/hdfs-cluster.ts'

let cluster: HdfsCluster

beforeAll(async () => {
  cluster = await HdfsCluster.start({ pair: true })
})

afterAll(async () => {
  await cluster?.stop()
})

describe('a pair of NameNodes', () => {
  it('is used through the active one, in any order of the URL', async () => {
    const [active, standby] = cluster.authority.split(',')
    const client = new WebHdfsClient(parseWebHdfsUrl(cluster.url('/order', `${standby},${active}`)))
    const upload = await client.openUpload('/order/streamed')
    await upload.write(new Uint8Array(1 << 20))
    await upload.finish()
    await client.writeFile('/order/whole', new Uint8Array(3))
    expect((await client.list('/order'))?.map(({ bytes }) => bytes)).toEqual([1 << 20, 3])
    client.close()
  })

  it('fails over during a checkpoint, and nothing is lost', async () => {
    await using run = await StoredFold.start(cluster.url('/pair'), 'pair', {
      'execution.checkpointing.tolerable-failed-checkpoints': '1000',
    })
    await run.untilInProgress()
    await cluster.stopNameNode('SIGKILL', 0)
    await cluster.activate(1)
    await run.untilCheckpoints(3)
    expect(run.job.attempt).toBe(1)
    await run.finish()
  })
})
