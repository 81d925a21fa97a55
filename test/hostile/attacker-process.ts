import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { ATTACKS, type Target } from './attackers.ts'

/*
 * Runs attacks in a separate process, so that neither the figures of the good client nor those of the server
 * hold the attackers' work. The control of an attack runs here, too: threads that compute and touch no
 * server.
 */

/** Messages to the process; each is answered. */
export type AttackerCommand =
  | { readonly kind: 'attack'; readonly attack: string; readonly target: Target }
  /** Computes on this many processors, on average. */
  | { readonly kind: 'spin'; readonly cores: number }
  /** Ends what was begun, and answers when every connection is closed. */
  | { readonly kind: 'end' }
  /** Answers with the processor time of the process in ms. */
  | { readonly kind: 'cpu' }

let end: () => Promise<unknown> = async () => {}

function attack({ attack: name, target }: AttackerCommand & { kind: 'attack' }): void {
  const sockets = new Set<Socket>()
  const signal = new AbortController()
  const attacking = ATTACKS[name]!(target, sockets, signal.signal)
  end = async () => {
    signal.abort()
    // An attack that opens a connection just now ends only when that is destroyed, too.
    const destroyAll = (): void => {
      for (const socket of sockets) socket.destroy()
    }
    const cut = setInterval(destroyAll, 10)
    await attacking
    clearInterval(cut)
    destroyAll()
  }
}

function spin(cores: number): void {
  const count = Math.max(1, Math.ceil(cores))
  const threads = Array.from({ length: count }, () => {
    return new Worker(new URL('spinning-thread.ts', import.meta.url), { workerData: cores / count })
  })
  end = () => Promise.all(threads.map((thread) => thread.terminate()))
}

process.on('message', async (command: AttackerCommand) => {
  if (command.kind === 'attack') attack(command)
  else if (command.kind === 'spin') spin(command.cores)
  else if (command.kind === 'end') await end()
  const { user, system } = process.cpuUsage()
  process.send!((user + system) / 1000)
})
process.on('disconnect', () => process.exit())
