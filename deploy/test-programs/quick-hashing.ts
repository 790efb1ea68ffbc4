import type { IdentityConfig } from '@gatehouse/identity'

/** bcrypt's lowest. */
const quickCost = 4

/**
 * Passwords cost a 256th of the time: most tests are not about them. No setting has a cost, so that only a program of
 * tests can choose it.
 */
export const quickHashing = <C extends Pick<IdentityConfig, 'hashing'>>(config: C): C => ({
  ...config,
  hashing: { ...config.hashing, cost: quickCost },
})
