/** Knows whether the own password is being changed just now. */
export type PasswordChange = {
  run<T>(change: () => Promise<T>): Promise<T>
  /** Puts an act off until the change under way is over; false, and nothing done, when there is none. */
  defer(act: () => void): boolean
}

/**
 * The old token dies on the server before the new one is here: what other calls and tabs tell about the session in
 * between is looked at afterwards.
 */
export function createPasswordChange(): PasswordChange {
  let running = 0
  let deferred: (() => void)[] = []
  const settle = () => {
    running -= 1
    if (running > 0) return
    const acts = deferred
    deferred = []
    for (const act of acts) act()
  }
  return {
    run: async (change) => {
      running += 1
      try {
        return await change()
      } finally {
        settle()
      }
    },
    defer: (act) => {
      if (running > 0) deferred.push(act)
      return running > 0
    },
  }
}
