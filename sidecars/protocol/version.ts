/** The version of Gatehouse, as in package.json (a test holds them equal). */
export const GATEHOUSE_VERSION = '0.1.0'
