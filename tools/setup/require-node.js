// The first import of each script: an old Node would show a stack trace.
const lowestMajor = 20

/**
 * One line for a version that cannot run these scripts; null for one that can.
 * @param {string} version as in process.versions.node
 * @returns {string | null}
 */
export function explainOldNode(version) {
  if (Number(version.split('.')[0]) >= lowestMajor) return null
  return `Node ${lowestMajor} or later is needed, and this is ${version}: install a newer one (https://nodejs.org) and run the command again`
}

const explanation = explainOldNode(process.versions.node)
if (explanation) {
  console.error(`gatehouse: ${explanation}`)
  process.exit(1)
}
