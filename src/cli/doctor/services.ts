import { randomUUID } from 'node:crypto'
import type { KafkaClientOptions } from '../../connectors/kafka/client/options.ts'
import { openTopics } from '../../connectors/topics/open.ts'
import type { Clock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { parseS3Url } from '../../files/s3/address.ts'
import { S3BucketClient } from '../../files/s3/client.ts'
import { parseWebHdfsUrl } from '../../files/webhdfs/address.ts'
import { WebHdfsClient } from '../../files/webhdfs/client.ts'
import { requireConditions } from '../../runtime/checkpoint/storage/s3-conditions.ts'
import { type Finding, ok, problem } from './finding.ts'
import { clockFinding } from './verdicts.ts'

const RETRY_FOR_MS = 5_000

/** Checks that the topics of a Kafka can be listed. */
export async function checkKafka(options: KafkaClientOptions, clock: Clock): Promise<Finding> {
  const startMs = clock.monotonicMs()
  try {
    await using topics = await openTopics({
      kafka: { ...options, deliveryTimeoutMs: RETRY_FOR_MS },
    })
    const names = await topics.topics()
    const ms = clock.monotonicMs() - startMs
    return ok('kafka', `${options.brokers}: ${names.length} topics listed in ${Math.round(ms)} ms`)
  } catch (error) {
    return problem('kafka', messageOf(error), 'check --brokers, SASL and TLS')
  }
}

/** Checks that a file can be written to HDFS and read back, and compares the NameNode's clock. */
export async function checkHdfs(url: string, clock: Clock): Promise<readonly Finding[]> {
  try {
    const address = parseWebHdfsUrl(url)
    const client = new WebHdfsClient(address, { retryForMs: RETRY_FOR_MS, clock })
    const path = `${address.path === '/' ? '' : address.path}/doctor-${randomUUID()}`
    const startMs = clock.monotonicMs()
    const bytes = new TextEncoder().encode('weir doctor')
    const beforeMs = clock.nowMs()
    await client.writeFile(path, bytes)
    const afterMs = clock.nowMs()
    try {
      const modifiedMs = (await client.status(path))?.modifiedMs ?? beforeMs
      const read = await client.read(path)
      if (Buffer.compare(read, bytes) !== 0) throw new Error(`${path} was read back differently`)
      const ms = Math.round(clock.monotonicMs() - startMs)
      const skewMs = (beforeMs + afterMs) / 2 - modifiedMs
      return [
        ok('hdfs', `${url}: a file was written and read back in ${ms} ms`),
        clockFinding('the NameNode', { skewMs, uncertainMs: (afterMs - beforeMs) / 2 }),
      ]
    } finally {
      await client.delete(path)
    }
  } catch (error) {
    return [problem('hdfs', messageOf(error), 'check the URL: host and port of WebHDFS, user.name')]
  }
}

/** Checks that an object can be written to S3 and read back, and that conditional writes exclude each other there. */
export async function checkS3(url: string, clock: Clock): Promise<Finding> {
  try {
    const address = parseS3Url(url)
    const client = new S3BucketClient(address, { retryForMs: RETRY_FOR_MS, clock })
    const root = address.prefix === '' ? '' : `${address.prefix}/`
    const key = `${root}doctor-${randomUUID()}`
    const startMs = clock.monotonicMs()
    const bytes = new TextEncoder().encode('weir doctor')
    await client.put(key, bytes)
    try {
      const read = await client.read(key)
      if (Buffer.compare(read, bytes) !== 0) throw new Error(`${key} was read back differently`)
      const ms = Math.round(clock.monotonicMs() - startMs)
      await requireConditions(client, root)
      return ok(
        's3',
        `${url}: an object was written and read back in ${ms} ms, and conditional writes exclude each other`,
      )
    } finally {
      await client.delete(key)
      client.close()
    }
  } catch (error) {
    return problem('s3', messageOf(error), 'check the URL, the credentials and the bucket')
  }
}
