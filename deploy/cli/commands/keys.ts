import { callerKeyLines } from '@gatehouse/auth'
import { readVariables, settings } from '@gatehouse/service-kit'
import type { Command } from 'commander'
import { configured } from '../connect.ts'
import type { Define } from '../invocation.ts'

/** `keys`: CALLER_KEYS for secrets that deploy/make-secrets.sh did not make. docs/operators.md, "Rotating secrets". */
export function defineKeysCommand(program: Command, define: Define): void {
  define(
    program
      .command('keys')
      .description('Prints CALLER_KEYS for the INTERNAL_SECRET, INTERNAL_SECRET_PREVIOUS and OPERATOR_SECRET given'),
    async ({ environment }) => {
      const { INTERNAL_SECRET, INTERNAL_SECRET_PREVIOUS, OPERATOR_SECRET } = settings
      const shape = {
        INTERNAL_SECRET: INTERNAL_SECRET.embedded,
        INTERNAL_SECRET_PREVIOUS: INTERNAL_SECRET_PREVIOUS.kind,
        OPERATOR_SECRET: OPERATOR_SECRET.kind.optional(),
      }
      const given = configured(() => readVariables(environment, shape))
      const present = (secret: string | undefined) => (secret === undefined ? [] : [secret])
      const ofGateway = [...present(given.INTERNAL_SECRET), ...given.INTERNAL_SECRET_PREVIOUS]
      const lines = [
        ...callerKeyLines('gateway', ofGateway),
        ...callerKeyLines('operator', present(given.OPERATOR_SECRET)),
      ]
      return { json: lines, text: lines.join('\n') }
    },
  )
}
