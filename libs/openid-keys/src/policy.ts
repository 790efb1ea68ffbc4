const minute = 60_000

/** How long applications keep the published keys: a new one signs after that. */
export const keyCacheMs = 10 * minute
/** A key that no longer signs is published until its tokens are over, and then some. */
export const keyRetirementMs = 24 * 60 * minute
