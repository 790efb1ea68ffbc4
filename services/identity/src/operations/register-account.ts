import type { Deps } from '../deps.ts'
import type { Registered } from './insert-account.ts'
import { registerFederated } from './register-federated.ts'
import { registerLocal } from './register-local.ts'

type Input = Parameters<typeof registerLocal>[1]
type Needs = Pick<Deps, 'orm' | 'clock' | 'random' | 'hasher' | 'config' | 'relay' | 'announcer'>

/** Registers an account; the shape of the request says which kind. Spec: Registration 9. */
export async function registerAccount(deps: Needs, input: Input): Promise<Registered> {
  const { homeInstance } = input
  return homeInstance === null
    ? await registerLocal(deps, input)
    : await registerFederated(deps, { ...input, homeInstance })
}
