const LOWEST_MAJOR = 20

/**
 * One line for a Node that cannot run the set-up scripts, or null for one that can.
 * @param {string} version as in process.versions.node
 * @returns {string | null}
 */
export function explainOldNode(version) {
  if (Number(version.split('.')[0]) >= LOWEST_MAJOR) return null
  return `Node ${LOWEST_MAJOR} or later is needed, and this is ${version}: install a newer one (https://nodejs.org) and run the command again`
}
