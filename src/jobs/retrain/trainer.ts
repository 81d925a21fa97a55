import { WeirError } from '../../core/errors.ts'
import { AlsTrainer } from './als-trainer.ts'
import { LinearTrainer } from './linear-trainer.ts'
import type { TrainerAnswer, TrainerRequest } from './messages.ts'
import type { ModelTrainer } from './model-trainer.ts'

/** The work of a training process: trains a model on ranges of observations, and writes its rows. */
export class RetrainTrainer {
  private readonly onProgress: (done: number, total: number) => void
  private trained: ModelTrainer | undefined

  constructor(onProgress: (done: number, total: number) => void) {
    this.onProgress = onProgress
  }

  /** Answers a request. Throws ILLEGAL_STATE for a request before the training. */
  async answer(request: TrainerRequest): Promise<TrainerAnswer> {
    switch (request.kind) {
      case 'train':
        return await this.train(request)
      case 'replay':
        return await this.model().replay(request.ranges)
      case 'write':
        return await this.model().write(request.file)
    }
  }

  private async train(request: TrainerRequest & { kind: 'train' }): Promise<TrainerAnswer> {
    if ('linear' in request) {
      const trainer = new LinearTrainer(this.onProgress)
      this.trained = trainer
      return { kind: 'trained', metadata: await trainer.train(request) }
    }
    const trainer = new AlsTrainer(this.onProgress)
    this.trained = trainer
    return { kind: 'trained', metadata: await trainer.train(request) }
  }

  private model(): ModelTrainer {
    if (this.trained !== undefined) return this.trained
    throw new WeirError('ILLEGAL_STATE', 'no model was trained yet; send "train" first')
  }
}
