import root from '../../../package.json' with { type: 'json' }

/** The version of this instance, as clients and peers see it. */
export const version: string = root.version
