import { createStatementVerifier, type AskingUpstream } from '@gatehouse/auth'
import type { UpstreamRight } from '@gatehouse/contracts'
import { refuse, type Clock } from '@gatehouse/runtime'
import type { UpstreamsWatch } from '@gatehouse/service-kit'

export type UpstreamCallers = ReturnType<typeof createUpstreamCallers>

type Options = { watch: UpstreamsWatch; audience: string; clock: Pick<Clock, 'now'> }

/** By the file as it was read last: what it no longer names is dead at once. Contract: 3, upstreams. */
export function createUpstreamCallers({ watch, audience, clock }: Options) {
  let verify = createStatementVerifier(watch.current, audience)
  watch.onChange((upstreams) => void (verify = createStatementVerifier(upstreams, audience)))
  return {
    /** Throws statement_invalid, statement_stale, right_missing. */
    judge: (authorization: string | undefined, right: UpstreamRight | undefined): AskingUpstream => {
      // A scheme of its own: neither is taken for the token of a user, nor such a token for a statement.
      const [, statement = ''] = /^upstream +(\S+)$/i.exec(authorization ?? '') ?? []
      const verdict = verify(statement, clock.now())
      if (verdict === 'invalid') throw refuse.statement_invalid()
      if (verdict === 'stale') throw refuse.statement_stale()
      if (!right || !verdict.rights.includes(right)) throw refuse.right_missing()
      return verdict
    },
  }
}
