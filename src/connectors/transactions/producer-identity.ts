/** Identity of a producer of one transactional id; an older epoch of the same id is fenced. */
export interface ProducerIdentity {
  readonly transactionalId: string
  readonly producerId: number
  /** 0 <= epoch < 2^15. */
  readonly epoch: number
}
