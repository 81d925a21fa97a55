import { requireArgument } from '../../core/errors.ts'
import { AllowedHosts } from './allowed-hosts.ts'

/** What clients of an HTTP port may change in the models, decided when the server starts. */
export interface ModelControlRights {
  /** Whether clients may register, load and unload models at all. */
  readonly isAllowed: boolean
  /** Whether a registered model may be a module, whose code runs in the server. */
  readonly takesModules: boolean
  /** Servers that a registered model may call. */
  readonly hosts: AllowedHosts
}

/** Clients change nothing. */
export const NO_MODEL_CONTROL: ModelControlRights = {
  isAllowed: false,
  takesModules: false,
  hosts: new AllowedHosts(),
}

/** Facts about a server that is about to start. */
export interface ModelControlFacts extends ModelControlRights {
  /** Whether every request needs a token. */
  readonly hasTokens: boolean
}

/**
 * Decides what clients may change in the models. Throws INVALID_ARGUMENT for model control without tokens, and for
 * modules or hosts without model control.
 */
export function decideModelControl({
  hasTokens,
  ...rights
}: ModelControlFacts): ModelControlRights {
  const { isAllowed, takesModules, hosts } = rights
  requireArgument(
    isAllowed || (!takesModules && hosts.places.size === 0),
    '--allow-modules and --allow-remote say what clients may register; give --model-control, too',
  )
  requireArgument(
    !isAllowed || hasTokens,
    '--model-control needs tokens: without them every program of this machine could change the models. Give --tokens FILE ("weir token create --role admin --tokens FILE" makes it)',
  )
  return rights
}

/** The sentence that a start prints. */
export function modelControlText({ isAllowed, takesModules, hosts }: ModelControlRights): string {
  if (!isAllowed) return 'model control is off'
  const kinds = ['ONNX files', ...(takesModules ? ['modules, whose code runs here'] : [])]
  const remote = hosts.places.size === 0 ? '' : `, and models of ${hosts}`
  return `model control is on: admins may load, unload and register ${kinds.join(', ')}${remote}`
}

/** What a server without the right says. */
export const MODEL_CONTROL_OFF =
  'model control over HTTP is off; start the server with --model-control and --tokens FILE, or use "weir model push", "load" and "unload"'
