import { expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { queryPortOf, requireManyPorts } from '../../../src/cli/serve/query-port.ts'

const portOf = (host: string, port: string, server?: string) =>
  queryPortOf(new Flags({ host, port }), server)

it('listens on another port than the usual one only where none was named', () => {
  expect(portOf('127.0.0.1', '9069')).toEqual({ host: '127.0.0.1', ports: [9069, 0] })
  expect(portOf('127.0.0.1', '7000')).toEqual({ host: '127.0.0.1', ports: [7000] })
})

it('names the address that was set to clients', () => {
  expect(portOf('0.0.0.0', '7000', 'counts-0.counts:9069')).toMatchObject({
    advertise: { host: 'counts-0.counts', port: 9069 },
  })
  expect(portOf('::', '7000', '[fd00::7]:9069')).toMatchObject({
    advertise: { host: 'fd00::7', port: 9069 },
  })
})

it.each(['0.0.0.0', '::', ''])('refuses to listen on all addresses, "%s", without one', (host) => {
  expect(() => portOf(host, '7000')).toThrow(/-D application\.server=HOST:PORT/)
})

it.each(['counts-0', 'counts-0:', 'counts-0:0', ':9069', 'counts-0:70000', 'a:b'])(
  'refuses the address "%s", which no client can reach',
  (server) => {
    expect(() => portOf('127.0.0.1', '7000', server)).toThrow(/application\.server is HOST:PORT/)
  },
)

it('refuses one port for several processes', () => {
  const refuse = (port: string) => () => requireManyPorts(new Flags({ port }))
  expect(refuse('7000')).toThrow(/only one of --processes could listen on port 7000/)
  expect(refuse('0')).not.toThrow()
  expect(refuse('9069')).not.toThrow()
})
