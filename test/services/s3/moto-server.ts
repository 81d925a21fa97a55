import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePorts } from '../free-port.ts'
import { pythonWith } from '../python-packages.ts'

/** The Python that has moto, a server with the protocol of S3; undefined where it cannot be installed. */
export function motoPython(): Promise<string | undefined> {
  return pythonWith('moto[s3]==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5')
}

/** A moto with the protocol of S3, which keeps its objects in memory. It takes any credentials. */
export class MotoServer implements AsyncDisposable {
  readonly port: number
  private readonly child: ChildProcess

  private constructor(port: number, child: ChildProcess) {
    this.port = port
    this.child = child
  }

  /** Starts one with the Python of `motoPython`. */
  static async start(python: string): Promise<MotoServer> {
    const [port] = await freePorts(1)
    const child = spawn(python, [join(import.meta.dirname, 'serve.py'), String(port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    for await (const line of child.stderr!) {
      said += String(line)
      if (!said.includes('Running on')) continue
      child.stderr!.resume()
      return new MotoServer(port!, child)
    }
    throw new Error(`moto ended: ${said.slice(-2000)}`)
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Removes all buckets. */
  async reset(): Promise<void> {
    const answer = await fetch(`${this.url}/moto-api/reset`, { method: 'POST' })
    if (!answer.ok) throw new Error(`moto answered ${answer.status}`)
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return
    this.child.kill('SIGKILL')
    await once(this.child, 'exit')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
