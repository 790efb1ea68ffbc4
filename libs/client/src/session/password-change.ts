/** Whether a password change is in progress, and what waits for its end. */
export type PasswordChange = {
  run<T>(change: () => Promise<T>): Promise<T>
  /** Postpones `action` until the running change has ended; false, and nothing postponed, when none runs. */
  defer(action: () => void): boolean
}

/**
 * The server revokes the old token before the client has the new one: refusals of the old token and storage events of
 * other tabs in between are handled when the change has ended.
 */
export function createPasswordChange(): PasswordChange {
  let running = 0
  let deferred: (() => void)[] = []
  const end = () => {
    running -= 1
    if (running > 0) return
    const actions = deferred
    deferred = []
    for (const action of actions) action()
  }
  return {
    run: async (change) => {
      running += 1
      try {
        return await change()
      } finally {
        end()
      }
    },
    defer: (action) => {
      if (running > 0) deferred.push(action)
      return running > 0
    },
  }
}
