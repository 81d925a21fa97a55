import type { IncomingHttpHeaders } from 'node:http2'
import { bearerTokenOf } from '../../http/access/bearer.ts'
import {
  type AccessControl,
  type AccessDecision,
  mayOn,
  requireOn,
  shareHolderOf,
} from '../../http/access/control.ts'
import { type AccessObject, modelObject } from '../../http/access/object-rights.ts'
import type { Role } from '../../http/access/role.ts'
import type { Principal } from '../../http/access/token-verifier.ts'

/** A call whose token is refused, with the status that HTTP has for it. */
export class Refused extends Error {
  readonly decision: Exclude<AccessDecision, { readonly kind: 'allowed' }>

  constructor(decision: Refused['decision']) {
    super(decision.error.message)
    this.decision = decision
  }
}

/** The client of a call, and what it may do. */
export class Caller {
  /** Address of the client. */
  readonly address: string
  /** Holder of the token; undefined where none is needed, and before it was authorized. */
  principal: Principal | undefined
  private readonly access: AccessControl | undefined
  private readonly authorization: string | undefined
  private readonly token: string | undefined

  /** `access`: undefined where every call may run. */
  constructor(
    access: AccessControl | undefined,
    { authorization }: IncomingHttpHeaders,
    address: string,
  ) {
    this.access = access
    this.authorization = authorization
    this.token = bearerTokenOf(authorization)
    this.address = address
  }

  /** Whose share of the memory for messages its calls take, as over HTTP. */
  get client(): string {
    return (this.access && this.authorization) ?? this.address
  }

  /** As `shareHolderOf`. */
  get shareHolder(): string | undefined {
    return shareHolderOf(this.principal, this.address)
  }

  /**
   * Lets a call run that needs a role, on a model of any name; it counts in the rate of its token. Rejects with what
   * refuses it.
   */
  async enter(role: Role, on?: AccessObject): Promise<void> {
    await this.access?.prove(this.token)
    this.authorize(role, on)
  }

  /** As `enter`, for a token that was proved. Throws what refuses it. */
  authorize(role: Role, on?: AccessObject): void {
    const from = { remoteAddress: this.address }
    const decision = this.access?.authorize(this.token, role, { on, from })
    if (decision === undefined) return
    if (decision.kind !== 'unauthenticated') this.principal = decision.principal
    if (decision.kind !== 'allowed') throw new Refused(decision)
  }

  /** Throws ACCESS_DENIED, unless it may do what `needed` asks for with a model. */
  requireOn(needed: Role, model: string): void {
    if (this.principal !== undefined) requireOn(this.principal, needed, modelObject(model))
  }

  /** Whether it may read a model. */
  mayRead(model: string): boolean {
    return this.principal === undefined || mayOn(this.principal, 'read', modelObject(model))
  }

  /** Takes requests that have run already from the rate of its token. */
  charge(requests: number): void {
    this.access?.charge(this.token, requests)
  }
}
