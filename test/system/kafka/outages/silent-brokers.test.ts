import { expect, it } from 'vitest'
import { freePorts } from '../../../services/free-port.ts'
import { weir } from '../../cli/command-process.ts'

const WAITS = /^warning: waiting for Kafka since [0-9:]+ UTC, for 3 s or more: .*ECONNREFUSED/

it('a command says what it waits for while no broker answers, before it gives up', async () => {
  const [port] = await freePorts(1)
  const { code, stderr } = await weir(['topic', 'list', '--brokers', `127.0.0.1:${port}`]).ended
  expect(code).toBe(1)
  const lines = stderr.trim().split('\n')
  expect(lines.pop()).toMatch(/^weir: CONNECTOR_FAILED: .* did not succeed within 15000 ms/)
  expect(lines[0]).toMatch(WAITS)
})
