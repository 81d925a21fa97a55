import { expect, it } from 'vitest'
import { TrustedProxies } from '../../../src/http/access/trusted-proxies.ts'

const proxies = new TrustedProxies(['10.0.0.5', '192.168.0.0/16', 'fd00::/8'])

it('a proxy is trusted by its address, or by its network, in each notation', () => {
  for (const address of ['10.0.0.5', '::ffff:10.0.0.5', '192.168.7.8', 'fd12::1']) {
    expect(proxies.trusts(address), address).toBe(true)
  }
  for (const address of ['10.0.0.6', '192.169.0.1', 'fe80::1', '', 'proxy']) {
    expect(proxies.trusts(address), address).toBe(false)
  }
  expect(new TrustedProxies().trusts('10.0.0.5')).toBe(false)
})

it.each([
  ['a peer that is no proxy', '10.0.0.6', '1.2.3.4', '10.0.0.6'],
  ['a proxy that names no one', '10.0.0.5', undefined, '10.0.0.5'],
  ['a proxy that names its client', '10.0.0.5', '1.2.3.4', '1.2.3.4'],
  ['a proxy whose client claims to be another', '10.0.0.5', '9.9.9.9, 1.2.3.4', '1.2.3.4'],
  ['a proxy behind a proxy', '10.0.0.5', '1.2.3.4,  192.168.1.1', '1.2.3.4'],
  ['a proxy that is itself the client of another', '10.0.0.5', '192.168.1.1', '192.168.1.1'],
  ['a proxy that names a port, too', '10.0.0.5', '1.2.3.4:5678', '1.2.3.4'],
  ['a proxy that names a port of IPv6, too', '10.0.0.5', '[2001:db8::1]:80', '2001:db8::1'],
  ['a proxy that names IPv6', '10.0.0.5', '2001:db8::1', '2001:db8::1'],
  ['a proxy that names no address', '10.0.0.5', '1.2.3.4, unknown', '10.0.0.5'],
  ['a proxy behind one that names no address', '10.0.0.5', 'unknown, 192.168.1.1', '192.168.1.1'],
])('the client of %s', (_, peer, field, client) => {
  expect(proxies.clientOf(peer, field)).toBe(client)
})

it.each(['', 'proxy.example', '10.0.0.5:80', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0.0/', '10.0.0'])(
  '"%s" is refused, with what to write',
  (place) => {
    expect(() => new TrustedProxies([place])).toThrow(
      /a trusted proxy is an address or a network, such as 10.0.0.5 or 10.0.0.0\/8/,
    )
  },
)
