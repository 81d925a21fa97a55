import type { Command } from './command.ts'
import { evaluateCommand } from './evaluate.ts'
import { generateAlsModelCommand } from './generate-als-model.ts'
import { generateRatingsCommand } from './generate-ratings.ts'
import { predictCommand } from './predict.ts'
import { queryCommand } from './query.ts'
import { quickstartCommand } from './quickstart.ts'
import { recommendCommand } from './recommend.ts'
import { runCommand } from './run.ts'
import { topicConsumeCommand } from './topic-consume.ts'
import { topicCreateCommand } from './topic-create.ts'
import { topicListCommand } from './topic-list.ts'
import { topicProduceCommand } from './topic-produce.ts'
import { trainAlsCommand } from './train-als.ts'
import { trainLogisticCommand, trainSvmCommand } from './train-linear.ts'

/** Every verb, in the order of `weir --help`. */
export const COMMANDS: readonly Command[] = [
  quickstartCommand,
  trainAlsCommand,
  trainSvmCommand,
  trainLogisticCommand,
  runCommand,
  predictCommand,
  recommendCommand,
  queryCommand,
  evaluateCommand,
  generateRatingsCommand,
  generateAlsModelCommand,
  topicListCommand,
  topicCreateCommand,
  topicProduceCommand,
  topicConsumeCommand,
]
