import { AllowedHosts } from '../../http/access/allowed-hosts.ts'
import { decideModelControl, type ModelControlRights } from '../../http/access/model-control.ts'
import type { Flags } from '../command/command.ts'

/** What clients may change, as the flags say. Throws INVALID_ARGUMENT, ACCESS_DENIED. */
export function modelControlOf(flags: Flags, hasTokens: boolean): ModelControlRights {
  const hosts = flags.optional('allow-remote')
  return decideModelControl({
    isAllowed: flags.boolean('model-control'),
    takesModules: flags.boolean('allow-modules'),
    hosts: hosts === undefined ? new AllowedHosts() : AllowedHosts.parse(hosts, '--allow-remote'),
    hasTokens,
  })
}
