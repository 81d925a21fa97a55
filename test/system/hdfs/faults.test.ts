import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoredFold } from '../../recovery/fold/stored-fold.ts'
import { pause } from '../../run/pause.ts'
import { HdfsCluster } from '../../services/hdfs-cluster.ts'
import { TcpProxy } from '../../services/tcp-proxy.ts'

let cluster: HdfsCluster

beforeAll(async () => {
  cluster = await HdfsCluster.start()
})

afterAll(async () => {
  await cluster?.stop()
})

const tolerant = { 'execution.checkpointing.tolerable-failed-checkpoints': '1000' }

describe('a job with its checkpoints in HDFS', () => {
  it('continues when the DataNode is killed during a checkpoint and restarted', async () => {
    await using run = await StoredFold.start(cluster.url('/data'), 'data', tolerant)
    await run.untilInProgress()
    await cluster.stopDataNode('SIGKILL')
    await cluster.startDataNode()
    await run.untilCheckpoints(3)
    expect(run.job.attempt).toBe(1)
    await run.finish()
  })

  it('says what it waits for when the NameNode is killed during a checkpoint, and continues when it is back', async () => {
    await using run = await StoredFold.start(cluster.url('/name'), 'name', tolerant)
    await run.untilInProgress()
    await cluster.stopNameNode('SIGKILL')
    await expect
      .poll(() => run.job.waits)
      .toContainEqual({
        operator: undefined,
        code: 'CONNECTOR_FAILED',
        waitsFor: 'HDFS',
        why: expect.stringMatching(
          /^127\.0\.0\.1:\d+: the NameNode \S+ did not answer .*ECONNREFUSED/,
        ),
        sinceMs: expect.any(Number),
      })
    await cluster.startNameNode()
    await run.untilCheckpoints(3)
    expect(run.job.waits).toEqual([])
    expect(run.job.attempt).toBe(1)
    await run.finish()
  })

  it('restarts from its last checkpoint when failures are not tolerated', async () => {
    await using run = await StoredFold.start(cluster.url('/strict'), 'strict', {
      'execution.checkpointing.timeout': '1 s',
    })
    await run.untilInProgress()
    await cluster.stopDataNode('SIGKILL')
    await expect.poll(() => run.job.attempt).toBeGreaterThan(1)
    await cluster.startDataNode()
    await run.untilCheckpoints(2)
    await run.finish()
  })

  it('loses nothing when connections to the NameNode are cut, slow and half-open', async () => {
    await using proxy = await TcpProxy.start(cluster.httpPort())
    const url = cluster.url('/proxy', `127.0.0.1:${proxy.port}`)
    await using run = await StoredFold.start(url, 'proxy', {
      ...tolerant,
      // Longer than one with delays takes on a slow machine; the half-open connections wait for it once.
      'execution.checkpointing.timeout': '8 s',
    })
    for (let cut = 0; cut < 10; cut++) {
      await run.untilInProgress()
      proxy.cut()
      await pause(37, 'cuts at different moments of a checkpoint')
    }
    proxy.delay(30)
    await run.untilCheckpoints(2)
    proxy.delay(0)
    proxy.set('half-open')
    await run.untilFailed()
    proxy.set('pass')
    proxy.cut()
    await run.untilCheckpoints(2)
    expect(run.job.attempt).toBe(1)
    await run.finish()
  })
})
