import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { peerAddress, socketPathOf } from '../../../../src/cluster/scale-out/peers/peer-address.ts'
import { PeerLinks } from '../../../../src/cluster/scale-out/peers/peer-links.ts'
import { PeerSocket } from '../../../../src/cluster/scale-out/peers/peer-socket.ts'
import { systemClock } from '../../../../src/core/clock.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { until } from '../../../run/until.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-peer-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Links that note who is gone. */
function newLinks(clock = systemClock): { links: PeerLinks; gone: string[] } {
  const gone: string[] = []
  const links = new PeerLinks(clock, (memberId) => gone.push(memberId))
  onTestFinished(() => links.close())
  return { links, gone }
}

/**
 * A process that listens at a path: it says its member id to the first that comes, whom it sends away, and keeps the
 * second.
 */
async function startPeer(path: string, memberId: string) {
  const code = `
    let links = 0
    const greet = (s) => {
      s.on('error', () => {})
      if (links++ === 0) s.end(${JSON.stringify(`${memberId}\n`)})
      console.log('link')
    }
    require('net').createServer(greet).listen(${JSON.stringify(path)}, () => console.log('open'))`
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (more) => {
    printed += more
  })
  await until('it listens', () => printed.includes('open'))
  return { child, links: () => printed.split('link').length - 1 }
}

describe('links to other processes of this machine', () => {
  it('say that a process is gone when it has ended without a word', async () => {
    const path = join(newFolder(), 'peer')
    const peer = await startPeer(path, 'weir-1')
    const clock = new ManualClock()
    const { links, gone } = newLinks(clock)
    links.follow([peerAddress(path)])
    await until('it has said its id', () => clock.pending > 0)
    clock.advance(1_000)
    await until('it is linked', () => peer.links() === 2)
    clock.advance(1_000)
    peer.child.kill('SIGKILL')
    // A process that is just ending may take one more connection: then the next one is made a second later.
    await until('it is gone', () => {
      clock.advance(1_000)
      return gone.length > 0
    })
    expect(gone).toEqual(['weir-1'])
  })

  it('say nothing of a process that has closed its socket and lives, or that is elsewhere', async () => {
    const folder = newFolder()
    const socket = await PeerSocket.open(join(folder, 'peer'))
    socket.announce('weir-1')
    const { links, gone } = newLinks()
    links.follow([socket.address, `unix:another-machine:${folder}/none`, '', 'host:9070'])
    await socket[Symbol.asyncDispose]()
    const next = await PeerSocket.open(join(folder, 'peer'))
    await next[Symbol.asyncDispose]()
    expect(gone).toEqual([])
  })

  it('do not try again and again where each link is closed at once', async () => {
    const path = join(newFolder(), 'peer')
    let count = 0
    const server = createServer((peer) => {
      count += 1
      peer.destroy()
    })
    onTestFinished(() => void server.close())
    server.listen(path)
    await once(server, 'listening')
    const clock = new ManualClock()
    const { links } = newLinks(clock)
    links.follow([peerAddress(path)])
    await until('the first link is over', () => clock.pending > 0)
    expect(count).toBe(1)
    clock.advance(1_000)
    await until('the next one is made', () => count === 2)
  })

  it('are to addresses of this machine alone', () => {
    expect(socketPathOf(peerAddress('/tmp/peer'))).toBe('/tmp/peer')
    expect(socketPathOf('unix:another:/tmp/peer')).toBeUndefined()
    expect(socketPathOf('')).toBeUndefined()
    expect(socketPathOf(`${peerAddress('/tmp/peer')}\n`)).toBeUndefined()
  })
})
