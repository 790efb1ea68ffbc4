import { endpointTable, gatewayPaths } from '@gatehouse/contracts'

/** Services may ignore the case of a path. */
const segmentsOf = (path: string): string[] => path.toLowerCase().split('/').slice(1)

export function areNested(one: string, other: string): boolean {
  const others = segmentsOf(other)
  return segmentsOf(one)
    .slice(0, others.length)
    .every((segment, index) => isSame(segment, others[index] ?? segment))
}

const isSame = (one: string, other: string): boolean => one === other || one.startsWith(':') || other.startsWith(':')

export const isSamePrefix = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

const ownPaths: readonly string[] = [...Object.values(endpointTable).map(({ path }) => path), ...gatewayPaths]

export function findOwnPath(prefix: string): string | undefined {
  return ownPaths.find((path) => areNested(prefix, path))
}
