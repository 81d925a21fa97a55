import { describe, expect, it } from 'vitest'
import { AllowedHosts, isForbiddenAddress } from '../../../src/http/access/allowed-hosts.ts'

describe('hosts that the operator lists', () => {
  it('are matched with their port, in any case of letters, and IPv6 with or without brackets', () => {
    const hosts = AllowedHosts.parse('Models.example:8000, 10.0.0.7:81,[::1]:9', '--allow-remote')
    expect(hosts.has('models.EXAMPLE', 8000)).toBe(true)
    expect(hosts.has('10.0.0.7', 81)).toBe(true)
    expect(hosts.has('::1', 9)).toBe(true)
    expect(hosts.has('[::1]', 9)).toBe(true)
    expect(hosts.has('models.example', 8001)).toBe(false)
    expect(hosts.has('a.models.example', 8000)).toBe(false)
    expect(new AllowedHosts().has('127.0.0.1', 80)).toBe(false)
  })

  it.each(['host', ':80', 'host:80/x', 'u@host:80', 'http://host:80', ''])(
    'are refused in another form: %s',
    (text) => {
      expect(() => AllowedHosts.parse(text, '--allow-remote')).toThrow('--allow-remote takes')
    },
  )

  it.each([
    '169.254.169.254',
    '169.254.1.1',
    'fe80::1',
    '[fe80::1]',
    '::ffff:169.254.169.254',
    '[::ffff:a9fe:a9fe]',
    'fd00:ec2::254',
    '100.100.100.200',
  ])('are never link-local or of cloud metadata: %s', (address) => {
    expect(isForbiddenAddress(address)).toBe(true)
  })

  it('may be private, of this machine, and names', () => {
    for (const host of ['127.0.0.1', '10.1.2.3', '::1', 'metadata.example', '169.253.1.1']) {
      expect(isForbiddenAddress(host), host).toBe(false)
    }
    expect(() => AllowedHosts.parse('169.254.169.254:80', '--allow-remote')).toThrow('link-local')
  })
})
