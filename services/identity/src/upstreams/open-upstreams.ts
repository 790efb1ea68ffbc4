import type { UpstreamQuestionName } from '@gatehouse/contracts'
import { systemTimer } from '@gatehouse/runtime'
import { UpstreamQuestions, noUpstreams, watchUpstreams, type Resources } from '@gatehouse/service-kit'

/** Further services that answer questions. docs/integrating.md, "Questions that Gatehouse asks". */
export type Upstreams = Pick<UpstreamQuestions, 'ask'> & {
  /** The names of those that answer it. */
  answering(question: UpstreamQuestionName): string[]
}

/** Reads the file again on SIGHUP. Throws ConfigurationError. Contract: 8, GATEHOUSE_UPSTREAMS. */
export async function openUpstreams(
  { bus, metrics, log }: Pick<Resources, 'bus' | 'metrics' | 'log'>,
  file: string | undefined,
): Promise<Upstreams & Disposable> {
  const watch = file === undefined ? noUpstreams : await watchUpstreams(file, { log })
  const questions = new UpstreamQuestions({ bus, metrics, log, timer: systemTimer })
  return {
    ask: (...asked) => questions.ask(...asked),
    answering: (question) => watch.current.filter(({ answers }) => answers.includes(question)).map(({ name }) => name),
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  }
}
