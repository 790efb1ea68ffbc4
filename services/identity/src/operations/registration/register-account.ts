import type { Registered, Registration, RegistrationDeps } from './insert-account.ts'
import { registerFederated } from './register-federated.ts'
import { registerLocal } from './register-local.ts'

/** Registers an account; `homeInstance` decides which kind. Spec: Registration 9. */
export async function registerAccount(deps: RegistrationDeps, registration: Registration): Promise<Registered> {
  const { homeInstance } = registration
  return homeInstance === null
    ? await registerLocal(deps, registration)
    : await registerFederated(deps, { ...registration, homeInstance })
}
