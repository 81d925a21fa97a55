import { MotoServer, motoPython } from '../s3/moto-server.ts'
import type { Pooled } from './pool.ts'

/** A server of S3 without buckets. */
export async function pooledS3(): Promise<Pooled> {
  const python = await motoPython()
  if (python === undefined) throw new Error('moto is not installed')
  const server = await MotoServer.start(python)
  return {
    access: { port: server.port },
    clear: () => server.reset(),
    stop: () => server.stop(),
  }
}
