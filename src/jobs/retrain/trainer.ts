import { WeirError } from '../../core/errors.ts'
import type { ModelTrainer, OnTrained } from '../../kinds/port/trainer.ts'
import { kindOf } from '../../kinds/registered.ts'
import type { TrainerAnswer, TrainerRequest } from './messages.ts'

/** The work of a training process: trains a model on ranges of observations, and writes its rows. */
export class RetrainTrainer {
  private readonly onProgress: OnTrained
  private trained: Pick<ModelTrainer, 'replay' | 'write'> | undefined

  constructor(onProgress: OnTrained) {
    this.onProgress = onProgress
  }

  /** Answers a request. Throws ILLEGAL_STATE for a request before the training. */
  async answer(request: TrainerRequest): Promise<TrainerAnswer> {
    switch (request.kind) {
      case 'train':
        return await this.train(request)
      case 'replay':
        return { kind: 'replayed', ...(await this.model().replay(request.ranges)) }
      case 'write':
        return { kind: 'written', ...(await this.model().write(request.file)) }
    }
  }

  private async train(request: TrainerRequest & { kind: 'train' }): Promise<TrainerAnswer> {
    const trainer = await kindOf(request).trainer(this.onProgress)
    this.trained = trainer
    return { kind: 'trained', metadata: await trainer.train(request) }
  }

  private model(): Pick<ModelTrainer, 'replay' | 'write'> {
    if (this.trained !== undefined) return this.trained
    throw new WeirError('ILLEGAL_STATE', 'no model was trained yet; send "train" first')
  }
}
